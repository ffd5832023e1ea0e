/** The hosted service's name of the role is long: `Super Administrator - All Privileges`. */
export const roleName = (name: string): string => (name.startsWith("Super Administrator") ? "Administrator" : name);
