"""What the official conformance suite of MCP expects of a server, by the names that its scenarios have."""

from eve_mocks import ToolError, mcp_mock

# One red pixel, and a sound without samples.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
TOOLS = {
    "test_simple_text": "Says a text",
    "test_image_content": "Shows an image",
    "test_audio_content": "Plays a sound",
    "test_embedded_resource": "Shows a resource",
    "test_multiple_content_types": "Shows several things",
    "test_tool_with_logging": "Logs while it works",
    "test_tool_with_progress": "Tells how far it has come",
    "test_error_handling": "Fails",
    "json_schema_2020_12_tool": "Takes what a schema describes",
}

server = mcp_mock(
    "https://conformance.example.com/mcp",
    mcp_sessions=True,
    tools={
        name: {"description": text, **({"inputSchema": SCHEMA} if name.startswith("json") else {})}
        for name, text in TOOLS.items()
    },
    results={
        "test_simple_text": "This is a simple text response for testing.",
        "test_image_content": {"content": [IMAGE]},
        "test_audio_content": {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]},
        "test_embedded_resource": {
            "content": [{"type": "resource", "resource": {"uri": "test://embedded", "mimeType": "text/x", "text": "x"}}]
        },
        "test_multiple_content_types": {
            "content": [
                {"type": "text", "text": "Several things:"},
                IMAGE,
                {"type": "resource", "resource": {"uri": "test://mixed", "mimeType": "application/json", "text": "{}"}},
            ]
        },
        "json_schema_2020_12_tool": "ok",
    },
    resources={
        "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
        "test://static-binary": {"mimeType": "image/png", "blob": PNG},
        "test://watched-resource": "It stays as it is.",
    },
    prompts={
        "test_simple_prompt": {"description": "Simple", "messages": ["This is a simple prompt for testing."]},
        "test_prompt_with_arguments": {
            "description": "With arguments",
            "arguments": {"arg1": {"required": True}, "arg2": {"required": True}},
            "messages": ["Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"],
        },
        "test_prompt_with_embedded_resource": {
            "description": "With a resource",
            "arguments": {"resourceUri": {"required": True}},
            "messages": [
                {
                    "role": "user",
                    "content": {
                        "type": "resource",
                        "resource": {"uri": "{resourceUri}", "mimeType": "text/plain", "text": "Embedded."},
                    },
                },
                "Please process the embedded resource above.",
            ],
        },
        "test_prompt_with_image": {
            "description": "With an image",
            "messages": [{"role": "user", "content": IMAGE}, "Please analyse the image above."],
        },
    },
)


@server.resource("test://template/{id}/data")
def data(params):
    return {"id": params["id"], "templateTest": True}


@server.tool
def test_tool_with_logging(client):
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        client.log(text)
    return "ok"


@server.tool
def test_tool_with_progress(client):
    for progress in (0, 50, 100):
        client.progress(progress, 100)
    return "ok"


@server.tool
def test_error_handling():
    raise ToolError("This tool intentionally returns an error for testing")
