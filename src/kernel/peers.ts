/**
 * The live processes with a role that share the database: their number, and the position of this process among them. It
 * is `{ count: 1, index: 0 }` if this process is alone or unknown to the others.
 */
export type Peers = (role: string) => { count: number; index: number };

export const noPeers: Peers = () => ({ count: 1, index: 0 });
