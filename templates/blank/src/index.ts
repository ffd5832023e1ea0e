export default {
  async email(message, _env, _ctx) {
    console.log(`${message.from} -> ${message.to}: ${message.headers.get("subject") ?? "(no subject)"}, ${message.rawSize} octets`);
  },
} satisfies ExportedHandler<Env>;
