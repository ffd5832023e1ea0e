import type { IncomingMessage } from "node:http";
import { type Access, createPlayer, type Player, type PlayerOptions } from "../../stream/index.ts";
import type { Basics } from "../compose.ts";

export interface ComposePlayerParts {
  access: Pick<Access, "check">;
  /** Before `/{id}` and `/embed/`: "" or "/cdn-cgi/stream". */
  base?: string;
  /** Who asks, behind proxies that are trusted. */
  address(request: IncomingMessage): string;
  /** Scheme and host as the viewer reached us. */
  origin(request: IncomingMessage): string;
  /** `http.public_url`, used if videos have no separate hosts. */
  publicOrigin?: NonNullable<PlayerOptions["publicOrigin"]>;
  /** Of hosts that are an account's own; empty: there are none. */
  domain: string;
  /** Whether somebody publishes to an input just now. */
  isPublished: NonNullable<PlayerOptions["isPublished"]>;
  /** Whether what is published there is kept: without that there is no HLS, and it is seen over WebRTC. */
  isRecorded: NonNullable<PlayerOptions["isRecorded"]>;
}

/**
 * Pages and scripts for people who watch and upload: `delivery` goes to the delivery, `handle` is asked before it (`<base>/embed/`), and
 * `uploadPage` is what uploads show in a browser.
 */
export const composePlayer = (parts: ComposePlayerParts, { log }: Pick<Basics, "log">): Player =>
  createPlayer({ ...parts, log });
