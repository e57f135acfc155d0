"""The safety promises of the project, by id, and the field cases that it answers for.

A promise is one sentence that a user could hold us to. A test that shows it names its id in the docstring (``G07``);
`test_guarantees` sees to it that each promise has a test and that each id that a test names is a promise.
"""

from types import MappingProxyType

GUARANTEES = MappingProxyType(
    {
        # What a yes is worth
        "G01": "A yes is bound to one exact call: on another name, target or input it is worth nothing.",
        "G02": "What runs is the frozen copy that was checked and shown; changing the original changes nothing.",
        "G03": "Every gate runs again after the approval: what changed while the person read does not run.",
        "G04": "Where nobody is there to ask, every change is denied.",
        "G05": "Only an explicit, matching, unexpired yes approves; any error on the way to it denies.",
        "G06": "A yes is used up by one call, unless the person chose to have it remembered.",
        "G07": "A destructive call is never approved in advance: no scope but once, whoever approves.",
        "G08": "A capability that is replaced or disposed of takes all that was remembered for it with it.",
        "G09": "A remembered yes covers the client, capability, target and facts that it was given for, and no more.",
        # How a person is asked
        "G10": "Only an isolated gesture of a person decides: keys and clicks of a burst, and code, decide nothing.",
        "G11": "What an approval shows reads back to the exact payload, and Approve is locked until its end was seen.",
        "G12": "Text of a model is never markup in an approval and loads, opens or runs nothing in the transcript.",
        # What a model can reach
        "G13": "The library's own capabilities look up or forward; none runs code or reaches policy, grants, settings.",
        "G14": "Nothing is connected to but the configured endpoint, and what is sent is exactly the request.",
        "G15": "Input is limited in depth, size, numbers and keys before it meets a validator.",
        "G16": "A schema fetches nothing and cannot be made into a weapon: work is bounded or the schema is refused.",
        "G17": "Arguments that were not declared are refused, so no argument can stand in for an approval.",
        "G18": "The named target is used or none; several and none named is refused, never the first.",
        "G19": "Whoever may not, may not: only True permits, an error forbids, and a deny list is final.",
        "G20": "A read that talks to the outside is asked about like a change.",
        # What happens, and how often
        "G21": "Every call ends with exactly one outcome, and never with an exception of ours or of a handler.",
        "G22": "A call id runs once; the same call again gets the first outcome, another call under it is refused.",
        "G23": "While a call may or may not have happened, the same call runs nothing and returns that one's id.",
        "G24": "Changes run one at a time, and a change that could not be written down beforehand is not made.",
        "G25": "Stop answers within 100 ms, withdraws what waits for a person, and starts nothing more.",
        # What leaves
        "G26": "A stream that was cut or limited runs nothing, and nothing runs before a stream has ended.",
        "G27": "The history that is sent is always valid: each tool call has one answer, in order, next to it.",
        "G28": "Neither the log at INFO nor the audit holds an input value, and no exception text reaches the model.",
        # Facts
        "G29": "A command happens once under its id, whatever dies and when, and each further answer is the first one.",
        "G30": "The version a person saw is checked in the command's transaction; a changed row is not overwritten.",
        "G31": "What was open when the process ended is offered or looked up again, and never runs by itself.",
        "G32": "Of executing a command and giving it up exactly one wins, and everybody hears the same.",
        # Forms
        "G33": "Only a person's own act submits a form under review, and what runs is what the form then holds.",
        "G34": "A form is filled as a whole or not at all; what a widget did not take puts everything back.",
        "G35": "What is read-only, disabled, hidden or secret is not written, and a secret is told to nobody.",
        # Conversations
        "G36": "A tool that runs other tools is no way round: each is judged and approved by its own name and input.",
        "G37": "A run is bounded in turns, calls, writes, tokens and time, and one that goes in circles is ended.",
        "G38": "A result lands in the conversation and the branch that asked for it, whatever is shown by then.",
    }
)

FIELD_CASES = tuple(
    f"FC-{number:02}"
    for number in (
        *(1, 2, 3, 4, 6, 7, 9, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 28, 29, 30),
        *(31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59),
        *(60, 61, 62, 63, 64, 65, 73, 74, 75, 78, 81, 82, 83, 84),
    )
)
"""The cases that must have a test; tests may name further ones."""
