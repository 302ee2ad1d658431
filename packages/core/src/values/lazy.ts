/**
 * Parts of the library that are loaded at their first use, so that a program without them does not pay for them.
 *
 * lazy.1. Loading a part takes real time, which a simulated schedule does not know. So tests load all parts first.
 */

const parts = new Set<() => Promise<unknown>>();

/**
 * A function that loads a part once. Mark its call as pure (`/* @__PURE__ *\/`), so that a bundler can drop a part
 * that nothing uses.
 */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  const once = (): Promise<T> => {
    loading ??= load();
    // A part that could not be loaded, for example without a network, is tried again at its next use.
    loading.catch(() => (loading = null));
    return loading;
  };
  parts.add(once);
  return once;
}

/** Loads all parts that are otherwise loaded at their first use: for simulations, and before a process that must not wait. */
export async function loadParts(): Promise<void> {
  for (;;) {
    const known = parts.size;
    await Promise.all([...parts].map((part) => part()));
    // A part may have parts of its own.
    if (parts.size === known) return;
  }
}
