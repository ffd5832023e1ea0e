import { isIPv6, SocketAddress } from "node:net";
import { sql, type Expression, type ExpressionBuilder, type SqlBool } from "kysely";
import { offsetOf, readPage, type Page, type PageRequest } from "../../kernel/index.ts";
import { quote } from "../../protocol/dns/index.ts";
import { prepareQuery } from "../../store/index.ts";
import type { ZonesExecutor, ZoneTables } from "../tables.ts";
import { likeText } from "../zones-table.ts";
import { contentKey, RECORD_COLUMNS, recordCounts, sumOf, toRecord, type RunQuery } from "./records-table.ts";
import type { DnsRecord } from "./types.ts";

/** Comparisons are case-insensitive. */
interface TextFilter {
  exact?: string | undefined;
  contains?: string | undefined;
  startswith?: string | undefined;
  endswith?: string | undefined;
}

export interface TagFilter extends Record<
  "exact" | "contains" | "startswith" | "endswith",
  { name: string; value: string } | undefined
> {
  /** Name of a tag. */
  present: string | undefined;
  absent: string | undefined;
}

export interface RecordQuery {
  type?: string | undefined;
  /** Absolute names: with `exact`, a relative name does not match. */
  name?: TextFilter | undefined;
  content?: TextFilter | undefined;
  comment?: (TextFilter & { present?: boolean; absent?: boolean }) | undefined;
  proxied?: boolean | undefined;
  tags?: TagFilter[] | undefined;
  /** One matching tag filter suffices. */
  anyTag?: boolean | undefined;
  /** One matching filter suffices; the tag filters together count as one. */
  any?: boolean | undefined;
  /** Matches name, content or comment, in addition to the filters. */
  search?: string | undefined;
  /** Records at or below this name, except the NS records of the delegation. */
  shadowedBy?: string | undefined;
  /** NS records at these names. */
  nsAt?: readonly string[] | undefined;
  order?: "type" | "name" | "content" | "ttl" | "proxied" | undefined;
  direction?: "asc" | "desc" | undefined;
}

/** Each sort order consists of all columns of an index, in its order. */
const ORDERS = {
  type: ["type", "name", "digest"],
  name: ["name", "type", "digest"],
  content: ["content_key", "id"],
  ttl: ["ttl", "id"],
  proxied: ["proxied", "id"],
} as const;

type Builder = ExpressionBuilder<ZoneTables, "dns_records">;

export function createRecordLister(tables: ZonesExecutor, read: RunQuery) {
  const counts = recordCounts(tables, read);
  const pageOf = (order: keyof typeof ORDERS, direction: "asc" | "desc") =>
    prepareQuery((arg) =>
      orderQuery(
        tables.selectFrom("dns_records").select(RECORD_COLUMNS).where("zone_id", "=", arg<string>("zone")),
        order,
        direction,
      )
        .limit(arg<number>("limit"))
        .offset(arg<number>("offset")),
    );
  const pages = Object.fromEntries(
    (Object.keys(ORDERS) as (keyof typeof ORDERS)[]).map((order) => [
      order,
      { asc: pageOf(order, "asc"), desc: pageOf(order, "desc") },
    ]),
  ) as Record<keyof typeof ORDERS, Record<"asc" | "desc", ReturnType<typeof pageOf>>>;

  return async (zone: string, query: RecordQuery, page: PageRequest): Promise<Page<DnsRecord>> => {
    const { order = "type", direction = "asc" } = query;
    const offset = offsetOf(page);
    const filters = filtersOf(zone, query);
    if (filters.length === 0) {
      const total = sumOf(await counts(zone));
      const rows = await readPage(page, total, ({ reversed, ...range }) =>
        read(pages[order][reversed === (direction === "asc") ? "desc" : "asc"]({ zone, ...range })),
      );
      return { items: rows.map(toRecord), total };
    }
    const where = (eb: Builder) => eb.and([eb("zone_id", "=", zone), ...filters.map((filter) => filter(eb))]);
    const matchedQuery = tables.selectFrom("dns_records").select(RECORD_COLUMNS).where(where);
    const foundRows = await (
      query.content?.exact === undefined
        ? orderQuery(matchedQuery, order, direction)
        : sorted(matchedQuery, order, direction)
    )
      .limit(page.perPage)
      .offset(offset)
      .execute();
    return { items: foundRows.map(toRecord), total: await total() };

    async function total(): Promise<number> {
      const { type, ...others } = query;
      if (filtersOf(zone, others).length === 0) {
        const countsByType = await counts(zone);
        return type === undefined ? sumOf(countsByType) : (countsByType.get(type) ?? 0);
      }
      return (
        await tables
          .selectFrom("dns_records")
          .select(({ fn }) => fn.countAll<number>().as("total"))
          .where(where)
          .executeTakeFirstOrThrow()
      ).total;
    }
  };
}

interface Orderable<Self> {
  orderBy(column: never, direction: "asc" | "desc"): Self;
}

/**
 * The same order without using its index: SQLite would otherwise scan the whole zone in order instead of looking up the
 * few matching records and sorting them.
 */
const sorted = <Query extends Orderable<Query>>(
  query: Query,
  order: keyof typeof ORDERS,
  direction: "asc" | "desc",
): Query =>
  ORDERS[order].reduce<Query>(
    (sorted, column) => sorted.orderBy(sql`coalesce(${sql.ref(column)}, null)` as never, direction),
    query,
  );

const orderQuery = <Query extends Orderable<Query>>(
  query: Query,
  order: keyof typeof ORDERS,
  direction: "asc" | "desc",
): Query => ORDERS[order].reduce<Query>((sorted, column) => sorted.orderBy(column as never, direction), query);

type Filter = (eb: Builder) => Expression<SqlBool>;

function filtersOf(
  zone: string,
  { type, name, content, comment, proxied, tags = [], anyTag, any, search, shadowedBy, nsAt }: RecordQuery,
): Filter[] {
  const filters: Filter[] = [];
  if (type !== undefined) filters.push((eb) => eb("type", "=", type));
  filters.push(...textFilters("name", name, (text) => (eb) => eb("name", "=", text)));
  // Many clients search for TXT content without quotes, or for content as they sent it. Filters by key use the index.
  filters.push(
    ...textFilters("content", content, (text) => (eb) => {
      const forms = [text, quote(text), normalForm(text)];
      return eb.and([eb("content_key", "in", forms.map(contentKey)), eb(sql`lower(content)`, "in", forms)]);
    }),
  );
  filters.push(...textFilters("comment_key", comment, (text) => (eb) => eb("comment_key", "=", text)));
  if (comment?.present === true) filters.push((eb) => eb("comment", "is not", null));
  if (comment?.absent === true) filters.push((eb) => eb("comment", "is", null));
  if (proxied !== undefined) filters.push((eb) => eb("proxied", "=", Number(proxied)));
  const tagged = tags.map((filter) => tagFilter(zone, filter));
  if (tagged.length > 0) filters.push((eb) => join(eb, tagged, anyTag));
  const combinedFilters: Filter[] = filters.length > 0 && any === true ? [(eb) => join(eb, filters, true)] : filters;
  if (search !== undefined)
    combinedFilters.push((eb) =>
      eb.or(
        (["name", "content", "comment_key"] as const).map((column) =>
          likeText(sql`lower(${sql.ref(column)})`, "contains", search.toLowerCase()),
        ),
      ),
    );
  if (shadowedBy !== undefined)
    combinedFilters.push((eb) =>
      eb.or([
        eb.and([eb("name", "=", shadowedBy), eb("type", "<>", "NS")]),
        likeText(sql.ref("name"), "ends_with", `.${shadowedBy}`),
      ]),
    );
  if (nsAt !== undefined)
    combinedFilters.push((eb) =>
      nsAt.length === 0 ? sql<SqlBool>`1 = 0` : eb.and([eb("name", "in", nsAt), eb("type", "=", "NS")]),
    );
  return combinedFilters;
}

/** Stored content has compressed IPv6 addresses and no trailing dots. */
const normalForm = (text: string): string =>
  isIPv6(text) ? new SocketAddress({ address: text, family: "ipv6" }).address : text.replace(/\.$/, "");

const join = (eb: Builder, filters: Filter[], any: boolean | undefined) => {
  const built = filters.map((filter) => filter(eb));
  return any === true ? eb.or(built) : eb.and(built);
};

function textFilters(
  column: "name" | "content" | "comment_key",
  filter: TextFilter | undefined,
  exact: (text: string) => Filter,
): Filter[] {
  if (filter === undefined) return [];
  const value = column === "content" ? sql`lower(content)` : sql.ref(column);
  const createTextFilter =
    (operator: "starts_with" | "ends_with" | "contains", text: string): Filter =>
    () =>
      likeText(value, operator, text.toLowerCase());
  return [
    ...(filter.exact === undefined ? [] : [exact(filter.exact.toLowerCase())]),
    ...(filter.startswith === undefined ? [] : [createTextFilter("starts_with", filter.startswith)]),
    ...(filter.endswith === undefined ? [] : [createTextFilter("ends_with", filter.endswith)]),
    ...(filter.contains === undefined ? [] : [createTextFilter("contains", filter.contains)]),
  ];
}

function tagFilter(zone: string, { present, absent, exact, startswith, endswith, contains }: TagFilter): Filter {
  const createTagFilter =
    (name: string, value?: Expression<SqlBool>): Filter =>
    (eb) =>
      eb(
        "id",
        "in",
        eb
          .selectFrom("dns_record_tags")
          .select("record_id")
          .where("dns_record_tags.zone_id", "=", zone)
          .where("dns_record_tags.name", "=", name.toLowerCase())
          .$if(value !== undefined, (query) => query.where(value!)),
      );
  const column = sql.ref("dns_record_tags.value");
  const list: Filter[] = [];
  if (present !== undefined) list.push(createTagFilter(present));
  if (absent !== undefined) list.push((eb) => eb.not(createTagFilter(absent)(eb)));
  if (exact !== undefined)
    list.push(createTagFilter(exact.name, sql<SqlBool>`${column} = ${exact.value.toLowerCase()}`));
  if (startswith !== undefined)
    list.push(createTagFilter(startswith.name, likeText(column, "starts_with", startswith.value.toLowerCase())));
  if (endswith !== undefined)
    list.push(createTagFilter(endswith.name, likeText(column, "ends_with", endswith.value.toLowerCase())));
  if (contains !== undefined)
    list.push(createTagFilter(contains.name, likeText(column, "contains", contains.value.toLowerCase())));
  return (eb) => join(eb, list, false);
}

/** Records of a zone in the order of the type index, `size` at a time. */
export async function* allRecords(tables: ZonesExecutor, zone: string, size = 1000): AsyncGenerator<DnsRecord[]> {
  let after: { type: string; name: string; digest: string } | undefined;
  for (;;) {
    let query = orderQuery(
      tables
        .selectFrom("dns_records")
        .select([...RECORD_COLUMNS, "digest"])
        .where("zone_id", "=", zone),
      "type",
      "asc",
    ).limit(size);
    const last = after;
    if (last !== undefined)
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple("type", "name", "digest"), ">", tuple(last.type, last.name, last.digest)),
      );
    const rows = await query.execute();
    if (rows.length > 0) yield rows.map(toRecord);
    if (rows.length < size) return;
    after = rows.at(-1)!;
  }
}
