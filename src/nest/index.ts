/** The public surface of `onqueue/nest`: queues, workers and injection in an application of NestJS. */
export { nestContainer, type NestApplication } from './container';
export { QueueModule, type QueueModuleFactory, type QueueModuleOptions } from './queue-module';
