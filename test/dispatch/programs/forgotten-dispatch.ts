/** Dispatches what cannot be encoded and awaits nothing; says what the process was told of it. */
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
