/**
 * Returns the number of live processes with a role that share the database, and the position of this process among
 * them: `{ count: 1, index: 0 }` if it is the only one, or has not joined the others.
 */
export type Peers = (role: string) => { count: number; index: number };

export const noPeers: Peers = () => ({ count: 1, index: 0 });
