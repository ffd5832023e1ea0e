import { Notifications, notifications } from "@mantine/notifications";

export { notifications };

/** Where short messages appear. */
export default function NotificationArea() {
  return <Notifications position="bottom-right" limit={4} autoClose={5000} />;
}
