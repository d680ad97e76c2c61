"""A shop's HTTP API with one order, which can be refunded once."""

from eve_mocks import Response, http_mock

shop = http_mock(
    "https://api.shop.example.com/",
    state=lambda: {"orders": {"1001": {"total": 42, "refunded": False}}},
)


@shop.get("/orders/{order_id}")
def order(params, state):
    found = state["orders"].get(params["order_id"])
    return Response(404, json={"error": "no such order"}) if found is None else found


@shop.post("/orders/{order_id}/refund")
def refund(params, state):
    found = state["orders"].get(params["order_id"])
    if found is None:
        return Response(404, json={"error": "no such order"})
    if found["refunded"]:
        return Response(409, json={"error": "refunded already"})
    found["refunded"] = True
    return {"refunded": found["total"]}
