export * from "ai";
