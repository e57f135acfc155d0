"""What the first word of a request says: verbs of everyday use with the same meaning, in three languages.

It knows languages and no application: a tool has the meanings of the verbs of its name, description
and examples.
"""

import re
from enum import StrEnum
from itertools import pairwise

from agentic_qt.client.decoding_catalogue import Tool, named
from agentic_qt.client.decoding_words import FUNCTION_WORDS, HAN, Kind, keys_of, words_in

_MEANINGS = {
    "delete": "delete remove erase discard drop purge kick xóa xoá bỏ gỡ 删除 移除 删掉 去掉",
    "create": "add create register enter insert new thêm tạo 添加 新建 创建 增加 新增 加到 登记",
    "change": "change set update edit modify rename correct alter adjust đổi sửa cập đặt "
    "修改 改为 更改 更新 改成 设为 设置",
    "open": "open bring pull visit go mở 打开",
    "show": "show view display see look xem hiện 查看 显示 看看",
    "find": "find search look locate lookup query tìm tra 查找 搜索 寻找 找到",
    "list": "list liệt enumerate 列出",
    "sort": "sort arrange order rank sắp xếp 排序 排列",
    "filter": "filter limit lọc hiển 只显 筛选 过滤",
    "switch": "switch toggle turn activate enable disable use go chuyển bật tắt 切换 换成 使用 打开 关闭",
    "cancel": "cancel abort hủy huỷ 取消",
    "play": "play hear listen phát nghe 播放",
    "stop": "stop pause halt dừng ngừng 停止 暂停",
    "save": "save store backup lưu 保存 备份",
    "undo": "undo revert restore redo recover hoàn khôi 撤销 恢复",
    "send": "send mail message forward notify post reply gửi 发送 邮寄",
    "write": "write compose draft viết 写信",
    "share": "share publish chia 分享",
    "invite": "invite mời 邀请",
    "call": "call phone dial ring gọi 打电",
    "print": "print export download import upload in xuất nhập 打印 导出 导入 下载",
    "copy": "copy duplicate clone merge combine split sao gộp 复制 合并",
    "move": "move transfer 移动",
    "buy": "buy book pay refund return sell mua bán 购买 退款 预订",
    "attach": "attach link assign connect 附加",
    "calculate": "calculate compute count sum convert translate explain summarise summarize tell tính dịch 计算 翻译",
}
_BY_WORD: dict[str, set[str]] = {}
for _meaning, _words in _MEANINGS.items():
    for _word in _words.split():
        _BY_WORD.setdefault(_word, set()).add(_meaning)
_POLITE_WORDS = (
    "please can could would you i we want to like let me us need must just now only then also kindly hãy "
    "xin vui lòng giúp tôi mình cho muốn cần chỉ"
)
_POLITE = frozenset(_POLITE_WORDS.split())
_PHRASES = {"get rid": "remove", "look for": "find", "look up": "find", "take out": "remove"}
_LIGHT_WORDS = "mark make put take give note bring keep leave try start đánh dấu ghi"
_LIGHT = frozenset(_LIGHT_WORDS.split())


VERBS = frozenset(_BY_WORD)
"""All of them; of Chinese, pairs of characters."""
HAN_VERBS = frozenset(word for word in VERBS if re.match(f"[{HAN}]", word))
"""The Chinese ones; they are never part of a value."""


class Lead(StrEnum):
    """How the first word of a request that says something suits a tool."""

    SUITS = "suits"
    OPEN = "open"
    OTHER = "other"
    STRANGE = "strange"


def lead_of(text: str) -> str:
    """Return the word that says what to do, where a request begins with one; else ``""``.

    Politeness is passed over. A request that begins with a name, a number or in Chinese with a name has none.
    """
    words = words_in(text)
    for place, word in enumerate(words):
        phrase = _PHRASES.get(" ".join(word.key for word in words[place : place + 2]))
        if phrase:
            return phrase
        if word.is_han:
            pairs = [one.text + two.text for one, two in pairwise(words) if one.is_han and two.is_han]
            return next((pair for pair in pairs if pair in _BY_WORD), "")
        if word.kind is not Kind.WORD or (place and word.is_capital):
            return ""
        if word.key in _BY_WORD or word.key in _LIGHT or word.key not in FUNCTION_WORDS:
            return word.key
        if word.key not in _POLITE:
            return ""
    return ""


def says_what_to_do(text: str) -> bool:
    """Tell whether a clause begins with a verb that we know."""
    lead = lead_of(text)
    return lead in _BY_WORD or lead in _LIGHT


def suits(tool: Tool, lead: str, *, known: bool) -> Lead:
    """Tell how the word that says what to do suits a tool.

    Args:
        tool: That may be meant.
        lead: What `lead_of` found.
        known: The word is one of the catalogue's, or it is no everyday word.
    """
    if not lead:
        return Lead.OPEN
    meant = _BY_WORD.get(lead, set())
    own = verbs_of(tool)
    if lead in own:
        return Lead.SUITS
    if meant:
        return Lead.SUITS if any(_BY_WORD.get(word, set()) & meant for word in own) else Lead.OTHER
    return Lead.OPEN if known or lead in _LIGHT else Lead.STRANGE


def verbs_of(tool: Tool) -> frozenset[str]:
    """Return the verbs that a tool's own examples begin with, and those of its name and description."""
    found = {lead_of(example.request) for example in tool.examples}
    found |= keys_of(tool.name.replace("_", " ")) & _BY_WORD.keys()
    return frozenset(found | {lead_of(tool.description)}) - {""}


def is_light(word: str) -> bool:
    """Tell whether a verb says little: "make", "put"."""
    return word in _LIGHT


def speaks_of(tool: Tool, words: frozenset[str]) -> bool:
    """Tell whether any of some words, wherever it stands, is a verb of a tool: "can be deleted"."""
    own = verbs_of(tool)
    meant = frozenset().union(*(_BY_WORD.get(word, set()) for word in own))
    same = own | {word for word, meanings in _BY_WORD.items() if meanings & meant}
    return any(named(verb, words) for verb in same)
