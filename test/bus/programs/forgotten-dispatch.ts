/** Dispatches what cannot be encoded and awaits nothing; says what the process was told of it. */
import { Job, Queue } from 'onqueue';

@Job()
class Report extends Job {
  constructor(readonly title: unknown) {
    super();
  }
}

process.on('unhandledRejection', (reason) => {
  const { code, message, cause } = reason as { code: string; message: string; cause: { code: string } };
  process.stdout.write(JSON.stringify({ code, message, cause: cause.code }));
});

Queue.configure({ connections: { main: { driver: 'memory' } } });
void Report.dispatch(() => 'a function');
