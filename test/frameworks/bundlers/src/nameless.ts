import { Job, Queue } from 'onqueue';

@Job()
class SendWelcome extends Job {}

Queue.configure({ connections: { memory: { driver: 'memory' } } });
SendWelcome.dispatch().then(
  () => console.log('queued'),
  (error: Error) => console.log(error.message),
);
