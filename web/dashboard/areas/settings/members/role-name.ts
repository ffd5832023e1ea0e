/** Cloudflare's name for the role is long: `Super Administrator - All Privileges`. */
export const roleName = (name: string): string => (name.startsWith("Super Administrator") ? "Administrator" : name);
