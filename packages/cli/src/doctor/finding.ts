/** What the doctor finds. */

export interface Finding {
  readonly level: "ok" | "warn" | "fail";
  /** For scripts. */
  readonly check:
    | "node"
    | "settings"
    | "journal"
    | "schema"
    | "file-mode"
    | "git"
    | "secret"
    | "app"
    | "stranded"
    | "blocked"
    | "diverged"
    | "zombie"
    | "two-apps";
  readonly text: string;
  /** What to type. */
  readonly fix?: string;
  /** The runs that it is about. */
  readonly runs?: readonly string[];
  /** Puts it right; only with --fix. */
  readonly repair?: () => void;
}
