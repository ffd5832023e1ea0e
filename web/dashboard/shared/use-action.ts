import { useMutation, useQueryClient, type QueryKey, type UseMutationResult } from "@tanstack/react-query";
import { useNotify } from "./use-notify.ts";

interface ActionOptions<Result, Input> {
  /** The result in the past tense: "Rule created". Undefined for no message. */
  done?: string | ((result: Result, input: Input) => string);
  /** The title of a failure: "Could not create the rule". */
  failed?: string;
  /** Queries that are out of date afterwards. */
  invalidates?: readonly QueryKey[];
  onDone?: (result: Result, input: Input) => void;
  /** Set it if the caller shows the error itself, as FormModal does. */
  silent?: boolean;
}

/**
 * Runs a change to the server, and shows messages about its result: `const remove = useAction((id: string) =>
 * api.delete(…), {…})`.
 */
export function useAction<Result, Input = void>(
  run: (input: Input) => Promise<Result>,
  { done, failed, invalidates = [], onDone, silent = false }: ActionOptions<Result, Input> = {},
): UseMutationResult<Result, Error, Input> {
  const client = useQueryClient();
  const notify = useNotify();
  return useMutation<Result, Error, Input>({
    mutationFn: run,
    async onSuccess(result, input) {
      if (done !== undefined) notify.success(typeof done === "string" ? done : done(result, input));
      await Promise.all(invalidates.map((queryKey) => client.invalidateQueries({ queryKey })));
      onDone?.(result, input);
    },
    onError(error) {
      if (!silent) notify.error(error, failed);
    },
  });
}
