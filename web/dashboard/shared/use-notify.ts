import { toApiError } from "../api/errors.ts";

interface Notify {
  /** The result in the past tense: "Rule created". */
  success(message: string): void;
  /** Shows the error message and its suggested fix. `title` says what failed: "Could not create the rule". */
  error(error: unknown, title?: string): void;
}

type Notification = Parameters<(typeof import("@mantine/notifications"))["notifications"]["show"]>[0];

function show(message: Notification): void {
  // Loaded on demand, to keep it out of the initial bundle.
  void import("./notifications.tsx").then(({ notifications }) =>
    notifications.show({ withBorder: true, closeButtonProps: { "aria-label": "Dismiss" }, ...message }),
  );
}

const notify: Notify = {
  success: (message) => show({ message, color: "green" }),
  error(error, title) {
    const { message, fix } = toApiError(error);
    show({
      ...(title !== undefined && { title }),
      message: fix === undefined ? message : `${message} ${fix}`,
      color: "red",
      autoClose: 12_000,
    });
  },
};

/** Short messages about the result of an action. */
export const useNotify = (): Notify => notify;
