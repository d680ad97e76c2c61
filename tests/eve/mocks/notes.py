from eve_mocks import http_mock

notes = http_mock("https://notes.example.com/", state={"notes": []})


@notes.get("/notes")
def get(state):
    return state["notes"]
