"""What people say in Vietnamese and Chinese, and what it means: examples for small chat models and for the search."""

from typing import Any

Examples = tuple[tuple[str, dict[str, Any]], ...]

_BINH, _WEI, _YANG = "Lê Văn Bình", "张伟", "刘洋"

IN_OTHER_LANGUAGES: dict[str, Examples] = {
    "customers.search": (
        ("Có khách nào tên Nguyễn không?", {"query": "Nguyễn"}),
        ("Tra cứu khách hàng tại Huế", {"query": "Huế"}),
        ("搜索北京客户", {"query": "北京"}),
        ("有没有姓李的客户", {"query": "李"}),
    ),
    "customer.open": (
        (f"Xem hồ sơ của {_BINH}", {"customer": _BINH}),
        ("Xem trang của khách hàng Grace Hopper", {"customer": "Grace Hopper"}),
        (f"查看客户{_WEI}的资料", {"customer": _WEI}),
        (f"打开{_YANG}", {"customer": _YANG}),
    ),
    "orders.list": (
        ("Xem các đơn hàng mà Grace Hopper đã đặt", {"customer": "Grace Hopper"}),
        (f"{_BINH} đã mua những gì?", {"customer": _BINH}),
        (f"查看{_WEI}有哪些订单", {"customer": _WEI}),
        (f"{_YANG}买了什么", {"customer": _YANG}),
    ),
    "view.set_filter": (
        ("Lọc khách hàng đang hoạt động", {"status": "active"}),
        ("Hiện những khách hàng tiềm năng thôi", {"status": "lead"}),
        ("Lọc khách hàng ngừng hoạt động", {"status": "inactive"}),
        ("Hiện lại tất cả khách hàng", {"status": "all"}),
        ("筛选活跃客户", {"status": "active"}),
        ("只看潜在客户", {"status": "lead"}),
        ("筛选不活跃客户", {"status": "inactive"}),
        ("看全部客户", {"status": "all"}),
    ),
    "view.sort": (
        ("Xếp danh sách theo tên", {"column": "name"}),
        ("Xếp bảng theo công ty", {"column": "company"}),
        ("Xếp khách hàng theo tên thành phố", {"column": "city"}),
        ("按名称排列客户", {"column": "name"}),
        ("客户排列按照公司", {"column": "company"}),
        ("表格按城市排序", {"column": "city"}),
    ),
    "app.set_theme": (
        ("Bật giao diện tối", {"theme": "dark"}),
        ("Dùng giao diện sáng", {"theme": "light"}),
        ("换成深色主题", {"theme": "dark"}),
        ("使用浅色主题", {"theme": "light"}),
    ),
    "customer.update": (
        ("Sửa thành phố của Marie Curie sang Huế", {"customer": "Marie Curie", "field": "city", "value": "Huế"}),
        (
            f"Email mới của {_BINH} là binh@example.com",
            {"customer": _BINH, "field": "email", "value": "binh@example.com"},
        ),
        (f"{_WEI}的城市是上海", {"customer": _WEI, "field": "city", "value": "上海"}),
        (f"修改{_YANG}的邮箱为 liu@example.com", {"customer": _YANG, "field": "email", "value": "liu@example.com"}),
    ),
    "customer.create": (
        (
            "Tạo một khách hàng mới tên Phạm Quang Huy với email huy@example.com",
            {"name": "Phạm Quang Huy", "email": "huy@example.com"},
        ),
        ("新建客户赵敏 邮箱 zhao@example.com", {"name": "赵敏", "email": "zhao@example.com"}),
    ),
    "order.set_status": (
        ("Đơn hàng 1004 đã giao", {"order": "1004", "status": "shipped"}),
        ("Đơn 1005 thanh toán xong rồi", {"order": "1005", "status": "paid"}),
        ("Hủy đơn hàng 1010", {"order": "1010", "status": "cancelled"}),
        ("订单 1004 已经发货", {"order": "1004", "status": "shipped"}),
        ("订单 1005 已付款", {"order": "1005", "status": "paid"}),
        ("取消订单 1010", {"order": "1010", "status": "cancelled"}),
    ),
    "customer.delete": (
        (f"Xóa {_BINH} khỏi danh sách", {"customer": _BINH}),
        ("Bỏ khách hàng Grace Hopper đi", {"customer": "Grace Hopper"}),
        (f"把{_WEI}删除", {"customer": _WEI}),
        (f"删除{_YANG}", {"customer": _YANG}),
    ),
    "customer.merge": (
        ("Gộp khách hàng Tim Berners vào Marie Curie", {"customer": "Tim Berners", "into": "Marie Curie"}),
        (f"把{_WEI}合并到{_YANG}", {"customer": _WEI, "into": _YANG}),
    ),
}
"""By the name of the capability."""
