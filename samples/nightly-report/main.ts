/**
 * Schedules: a report of each night and a weekly one that tidies up, on a clock of its own; and a real worker that keeps one.
 *
 *     npm run sample -- nightly-report         four days in no time, on the clock of a fake
 *     npm run sample -- nightly-report live    a worker for three seconds, on SQLite or by REDIS_URL on Redis: start it in two
 *                                              terminals, and each occurrence runs in one of them
 */
async function main(): Promise<void> {
  const { run } = await (process.argv[2] === 'live' ? import('./live.js') : import('./travel.js'));
  await run();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
