/**
 * Schedules: a nightly report and a weekly clean-up, on a test clock; and a real worker that keeps a schedule.
 *
 *     npm run sample -- nightly-report         four days in no time, on the clock of the queue's fake
 *     npm run sample -- nightly-report live    a worker for three seconds, on SQLite, or on Redis if REDIS_URL is set. Start it
 *                                              in two terminals: each occurrence runs in one of them.
 */
async function main(): Promise<void> {
  const { run } = await (process.argv[2] === 'live' ? import('./live.js') : import('./travel.js'));
  await run();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
