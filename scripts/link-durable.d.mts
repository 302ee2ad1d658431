export function linkDurable(modules: string, platform?: string): void;
