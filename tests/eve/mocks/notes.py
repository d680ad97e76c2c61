from eve_mocks import http_mock

notes = http_mock(
    "https://notes.example.com/",
    state={"notes": []},
    routes={"/openapi.json": {"GET": {"body_file": "schemas/notes.json"}}},
)


@notes.post("/notes")
def add(request, state):
    state["notes"].append(request.json()["text"])
    return {"count": len(state["notes"])}
