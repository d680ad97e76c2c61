"""An issue tracker's MCP server that remembers: what a session creates is there when it asks again."""

from eve_mocks import ToolError, mcp_mock

tracker = mcp_mock("https://tracker.example.com/mcp", state=lambda: {"issues": []})


@tracker.tool
def create_issue(args, state):
    """Create an issue with a title."""
    if not args.get("title"):
        raise ToolError("title is required")
    issue = {"id": f"ENG-{len(state['issues']) + 1}", **args}
    state["issues"].append(issue)
    return issue


@tracker.tool
def list_issues(state):
    """List the issues that there are."""
    return {"issues": state["issues"]}
