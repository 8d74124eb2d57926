/** What a framework on Vite renders on the server; the configuration is in a module that is reloaded as well. */
import { Queue } from 'onqueue';
import { configuration } from './queues';
import { Greet } from './jobs';

Queue.configure(configuration);

export async function render(name: string) {
  return Greet.dispatch(name);
}

export const sizeOf = (queue: string) => Queue.size(queue);
export const close = () => Queue.close();
