/** Screens of the dashboard over the journals of journals.ts: for pictures, and for axe. */

export const screens: Readonly<Record<string, string>> = {
  runs: "/",
  "runs-filtered": "/?status=failed",
  "runs-none": "/?text=nothing",
  inbox: "/inbox",
  run: "/runs/loan-7",
  "run-step": "/runs/loan-7?step=parallel%5Bcredit%5D%2Fassess",
  "run-waiting": "/runs/brief-1?step=approve",
  "run-chat": "/runs/brief-1?step=draft",
  "run-failed": "/runs/ingest-1?step=embed",
  "run-blocked": "/runs/deploy-42",
  "run-sleeping": "/runs/letter-46",
  "run-tools": "/runs/tides?step=think%232",
  "run-child": "/runs/publish-1?step=translate",
  fork: "/runs/loan-7-cautious",
  forks: "/runs/loan-7?tab=forks",
  journal: "/runs/loan-7?tab=journal&entry=5",
  story: "/runs/story-1?step=tell",
  diff: "/diff/loan-7/loan-7-cautious",
};
