/** What must and must not compile with events of jobs. Checked by the compiler; never run. */
import { type EventsOptions, type JobEvent, type JobFailed, Queue } from 'onqueue';

export async function listen(signal: AbortSignal): Promise<void> {
  for await (const event of Queue.events({ ids: ['1'], queue: 'mail', names: ['SendWelcome'], signal })) {
    const told: [string, string, string, string, number, Date] = [
      event.id,
      event.name,
      event.connection,
      event.queue,
      event.attempt,
      event.at,
    ];
    if (event.type === 'progressed') console.log(event.value.toFixed(1), event.text?.length);
    if (event.type === 'failed') console.log(event.error.length);
    if (event.type === 'released') console.log(event.error?.length);
    // @ts-expect-error -- only a report of progress has a value
    if (event.type === 'completed') console.log(event.value);
    // @ts-expect-error -- there is no such event
    if (event.type === 'lost') console.log(told);
  }
}

export const events: AsyncIterableIterator<JobEvent, undefined> = Queue.connection('redis').events();
export const elsewhere = Queue.events({ connection: 'redis' });
export const failed = (event: JobEvent): event is JobFailed => event.type === 'failed';
export const options: EventsOptions = {};

// @ts-expect-error -- a list of ids
Queue.events({ ids: '1' });

// @ts-expect-error -- it is queue
Queue.events({ queues: ['mail'] });
