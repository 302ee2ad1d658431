import type { NextConfig } from "next";

// Packages that run on the server as they are.
const config: NextConfig = {
  serverExternalPackages: ["@durable/core", "@durable/postgres", "pg"],
};

export default config;
