const PREFIX = "/cdn-cgi/worker/";

type WorkerChoice =
  | {
      unknown?: undefined;
      worker: string;
      path: string;
      query: string;
      /** Path and query as passed to the worker. */ url: string;
    }
  | { unknown: string };

/**
 * Selects the worker of a request: `/cdn-cgi/worker/NAME/rest` (the worker sees `/rest`), the host `NAME.localhost`,
 * otherwise the first. `?worker=NAME` applies to the HTTP endpoints for mail only: elsewhere the query belongs to the worker.
 */
export function pickWorker(url: string, host: string | undefined, workers: readonly string[]): WorkerChoice {
  let rest = url;
  let worker = workers[0]!;
  if (rest.startsWith(PREFIX)) {
    const end = rest.slice(PREFIX.length).search(/[/?]|$/) + PREFIX.length;
    worker = rest.slice(PREFIX.length, end);
    rest = rest.slice(end);
    if (!rest.startsWith("/")) rest = `/${rest}`;
  } else if (workers.length > 1 && host !== undefined) {
    const nameInHost = /^([^.:]+)\.localhost(?::\d+)?$/i.exec(host)?.[1]?.toLowerCase();
    if (nameInHost !== undefined) worker = workers.find((name) => name.toLowerCase() === nameInHost) ?? nameInHost;
  }
  if (!workers.includes(worker)) return { unknown: worker };
  const question = rest.indexOf("?");
  return question < 0
    ? { worker, path: rest, query: "", url: rest }
    : { worker, path: rest.slice(0, question), query: rest.slice(question + 1), url: rest };
}

export const noSuchWorker = (name: string, workers: readonly string[]): string =>
  `There is no worker named ${JSON.stringify(name)} here. Running: ${workers.join(", ")}`;
