import { durableApp } from "../../../lib/app";

export const dynamic = "force-dynamic";
export const maxDuration = 300;

/** Called by cron (vercel.json): continues every run that is due and has no process, also when no page is open. */
export async function GET(request: Request): Promise<Response> {
  const secret = process.env["CRON_SECRET"];
  if (secret === undefined || request.headers.get("authorization") !== `Bearer ${secret}`)
    return new Response("Set CRON_SECRET, and send it as a bearer token.", { status: 401 });
  const { outcomes, failed } = await durableApp().sweep({ limit: 20 });
  return Response.json({ advanced: outcomes.length, failed: failed.length });
}
