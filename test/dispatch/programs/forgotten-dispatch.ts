/** Dispatches a job that cannot be encoded, does not await it, and prints the unhandled rejection. */
import { Job, Queue } from 'onqueue';

@Job()
class Report extends Job {
  constructor(readonly title: unknown) {
    super();
  }
}

process.on('unhandledRejection', (reason) => {
  const { code, message, stack, cause } = reason as Error & { code: string; cause: { code: string } };
  process.stdout.write(JSON.stringify({ code, message, stack, cause: cause.code }));
});

Queue.configure({ connections: { main: { driver: 'memory' } } });

function forgetful(): void {
  void Report.dispatch(() => 'a function');
}

forgetful();
