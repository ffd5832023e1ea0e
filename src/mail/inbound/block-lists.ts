import { isIPv6 } from "node:net";
import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import type { Resolver } from "../authenticate/index.ts";
import type { SmtpReply } from "../messages/index.ts";
import type { BlockLists } from "./types.ts";

interface BlockListsOptions {
  /** Names of DNS block lists (RFC 5782), such as "zen.spamhaus.org". */
  lists: readonly string[];
  resolver: Resolver;
  clock: Pick<Clock, "sleep">;
  log: Log;
  /** Milliseconds to wait for a list. Default 3000. */
  timeoutMs?: number;
}

/** Queries DNS block lists. If a list does not respond in time, the address counts as not listed. */
export function createBlockLists({ lists, resolver, clock, log, timeoutMs = 3000 }: BlockListsOptions): BlockLists {
  async function isListed(list: string, query: string): Promise<boolean> {
    try {
      return (await withTimeout(resolver(`${query}.${list}`, "A"))).some((answer) => isListing(String(answer)));
    } catch (err) {
      const { code } = err as { code?: string };
      if (code !== "ENOTFOUND" && code !== "ENODATA")
        log.info({ list, reason: messageOf(err) }, "smtp: block list timed out");
      return false;
    }
  }

  /** Resolves with the list's explanation (RFC 5782 2.1). */
  async function fetchExplanation(list: string, query: string): Promise<string> {
    const texts = await withTimeout(resolver(`${query}.${list}`, "TXT")).catch(() => []);
    const text = texts.map((strings) => (Array.isArray(strings) ? strings.join("") : String(strings))).join(" ");
    return /https?:\/\/[!-~]{1,200}/.exec(text)?.[0] ?? `the operator of ${list}`;
  }

  async function withTimeout<T>(answer: Promise<T>): Promise<T> {
    const done = new AbortController();
    const timeout = clock.sleep(timeoutMs, done.signal).then(() => {
      throw new Error(`no response in ${timeoutMs} ms`);
    });
    timeout.catch(() => {});
    try {
      return await Promise.race([answer, timeout]);
    } finally {
      done.abort();
    }
  }

  return {
    async find(ip): Promise<SmtpReply | undefined> {
      const query = reverseIp(ip);
      const listedFlags = await Promise.all(lists.map((list) => isListed(list, query)));
      const matchingLists = lists.filter((_, i) => listedFlags[i]);
      if (matchingLists.length === 0) return undefined;
      return {
        code: 554,
        enhanced: "5.7.1",
        text: `${ip} found on one or more RBLs (${matchingLists.join(", ")}). Refer to ${await fetchExplanation(matchingLists[0]!, query)}`,
      };
    },
  };
}

/**
 * RFC 5782 2.1, 2.4: responses are in 127.0.0.0/8. Any other response comes from a resolver that rewrites "no such
 * name"; a response in 127.255.255.0/24 means that the list refused the query (sent through a public resolver, or too
 * often).
 */
const isListing = (answer: string) => /^127\.(?!255\.255\.)/.test(answer);

/** Reverses an address: 192.0.2.1 -> 1.2.0.192, or the 32 digits of an IPv6 address in reverse order. */
function reverseIp(ip: string): string {
  if (!isIPv6(ip)) return ip.split(".").reverse().join(".");
  const groups = new URL(`http://[${ip.replace(/%.*$/, "")}]/`).hostname
    .slice(1, -1)
    .split("::")
    .map((half) => (half === "" ? [] : half.split(":")));
  const [head = [], tail = []] = groups;
  const allGroups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => "0"), ...tail];
  return allGroups
    .map((group) => group.padStart(4, "0"))
    .join("")
    .split("")
    .reverse()
    .join(".");
}
