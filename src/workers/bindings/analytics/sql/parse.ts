import { analyticsErrors } from "../errors.ts";
import type { Column, Format, Select, Statement } from "./ast.ts";
import { createReader, type TokenReader } from "./reader.ts";
import { parseExpression } from "./expressions.ts";

const FORMATS: Format[] = ["JSON", "JSONEachRow", "TabSeparated"];

/** Parses a query. Throws invalidQuery, which names an unsupported SQL feature. */
export function parseSql(query: string): Statement {
  const reader = createReader(query);
  const statement = reader.take("show") ? parseShow(reader) : parseSelect(query, reader);
  reader.takeSymbol(";");
  reader.expectEnd();
  return statement;
}

function parseShow(reader: TokenReader): Statement {
  const kind = reader.take("tables") ? "tables" : reader.take("timezone") ? "timezone" : undefined;
  if (kind === undefined) throw reader.unexpected("SHOW TABLES or SHOW TIMEZONE");
  return { kind, format: parseFormat(reader) };
}

function parseSelect(query: string, reader: TokenReader): Select {
  if (!reader.take("select")) throw notSupported("only SELECT and SHOW statements are supported");
  if (reader.take("distinct")) throw notSupported("SELECT DISTINCT is not supported; use GROUP BY");
  const columns = reader.list(() => parseColumn(query, reader));
  const select: Select = {
    kind: "select",
    columns,
    from: reader.take("from") ? parseTable(reader) : undefined,
    where: reader.take("where") ? parseExpression(reader) : undefined,
    groupBy: reader.take("group", "by") ? reader.list(() => parseExpression(reader)) : [],
    having: reader.take("having") ? parseExpression(reader) : undefined,
    orderBy: reader.take("order", "by") ? reader.list(() => parseOrder(reader)) : [],
    limit: undefined,
    offset: 0,
    format: "JSON",
  };
  if (reader.take("limit") && !reader.take("all")) select.limit = reader.integer("a number of rows after LIMIT");
  if (reader.take("offset")) select.offset = reader.integer("a number of rows after OFFSET");
  if (reader.take("union")) throw notSupported("UNION is not supported");
  select.format = parseFormat(reader);
  return select;
}

function parseColumn(query: string, reader: TokenReader): Column | "*" {
  if (reader.takeSymbol("*")) return "*";
  const start = reader.position();
  const expression = parseExpression(reader);
  const text = query.slice(start, reader.previousEnd());
  const alias = reader.take("as") ? reader.name("an alias after AS") : undefined;
  return { expression, name: alias ?? text, alias };
}

function parseTable(reader: TokenReader): string {
  if (reader.peekSymbol("(")) throw notSupported("subqueries are not supported");
  const table = reader.name("the name of a dataset after FROM");
  if (reader.takeSymbol(",") || ["join", "inner", "left", "right", "full", "cross"].some((word) => reader.peek(word)))
    throw notSupported("JOINs are not supported");
  return table;
}

function parseOrder(reader: TokenReader): Select["orderBy"][number] {
  const orderExpression = parseExpression(reader);
  const isDescending = reader.take("desc");
  if (!isDescending) reader.take("asc");
  return { expression: orderExpression, descending: isDescending };
}

function parseFormat(reader: TokenReader): Format {
  if (!reader.take("format")) return "JSON";
  const name = reader.name("a format after FORMAT");
  const format = FORMATS.find((knownFormat) => knownFormat.toLowerCase() === name.toLowerCase());
  if (format === undefined) throw notSupported(`unknown format ${name}; the formats are ${FORMATS.join(", ")}`);
  return format;
}

const notSupported = (reason: string) => analyticsErrors.invalidQuery({ reason });
