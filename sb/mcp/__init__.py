"""The MCP server: memory and governed calls for any agent that speaks the Model Context Protocol."""
