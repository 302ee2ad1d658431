export * from "@ai-sdk/mcp";
