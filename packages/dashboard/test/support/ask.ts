/** A dashboard without a server, and requests to it as a page would send them. */

import { createDashboard, type Dashboard, type DashboardOptions } from "../../src/index.ts";

export const token = "token-for-tests-0123456789-0123456789";
export const origin = "http://localhost:4777";

export interface Posted<T> {
  readonly status: number;
  readonly body: T;
}

export class Site {
  readonly handler: Dashboard;

  constructor(options: Omit<DashboardOptions, "token">) {
    this.handler = createDashboard({ token, onError: () => {}, ...options });
  }

  /** With the token, unless headers say otherwise. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { host: "localhost:4777", authorization: `Bearer ${token}`, ...(init.headers as object) };
    return this.handler(new Request(origin + path, { ...init, headers }));
  }

  async get<T>(path: string): Promise<T> {
    const response = await this.fetch(`/api/${path}`);
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async post<T>(path: string, body: unknown = {}): Promise<Posted<T>> {
    const response = await this.fetch(`/api/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as T };
  }
}
