/**
 * `QueueModule`: queues and workers in the life of a Nest application.
 *
 * It goes around the application, because Nest destroys modules from the outermost inward: workers stop before the pools and clients are
 * closed that their jobs use.
 */
import type {
  DynamicModule,
  FactoryProvider,
  ModuleMetadata,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OnModuleDestroy,
  Type,
} from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import { type Configuration, Queue, Worker, type WorkerOptions } from '../index';
import { nestContainer } from './container';
import { moduleMisused, secondModule } from './errors';
import { common, core } from './nest';

export interface QueueModuleOptions {
  /** The configuration of the queues. Its `container` is Nest, unless it has one of its own. */
  readonly configuration: Configuration;
  /** The workers that run in this process. Default: none. */
  readonly workers?: readonly WorkerOptions[] | undefined;
}

export interface QueueModuleFactory extends Pick<ModuleMetadata, 'imports'> {
  /** What Nest passes to `useFactory`: exported by the application or by `imports`, or of a global module. */
  readonly inject?: FactoryProvider['inject'];
  // oxlint-disable-next-line typescript/no-explicit-any -- as Nest declares it
  readonly useFactory: (...given: any[]) => QueueModuleOptions | Promise<QueueModuleOptions>;
}

type Application = Type | DynamicModule;

const OPTIONS = Symbol('the options of QueueModule');
const KEYS = ['configuration', 'workers'];
/** For `enableShutdownHooks()` below the call that starts the application. */
const HOOKS_WITHIN = 1000;

/** Whether one lives, which then has the queues of the process. */
let isPresent = false;

export class QueueModule implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  readonly #workers: readonly Worker[];
  #looking: NodeJS.Timeout | undefined;

  /**
   * The root module for an application with queues: `NestFactory.create(QueueModule.around(AppModule, { configuration }))`.
   *
   * @throws E_QUEUE_MODULE
   */
  static around(application: Application, options: QueueModuleOptions): DynamicModule {
    checkOptions(options, 'around()');
    return rootOf(application, { provide: OPTIONS, useValue: options });
  }

  /** The same with options that a function makes, of what Nest injects into it. @throws E_QUEUE_MODULE */
  static aroundAsync(application: Application, factory: QueueModuleFactory): DynamicModule {
    const { imports = [], inject = [], useFactory } = (factory ?? {}) as QueueModuleFactory;
    if (typeof useFactory !== 'function')
      throw moduleMisused('aroundAsync() has no useFactory', 'Give it a function that returns { configuration }');
    return rootOf(application, { provide: OPTIONS, inject, useFactory }, imports);
  }

  // Before any onModuleInit(), where providers may dispatch.
  constructor(nest: ModuleRef, options: QueueModuleOptions) {
    checkOptions(options, 'useFactory');
    if (isPresent) throw secondModule();
    const { configuration, workers = [] } = options;
    this.#workers = workers.map((worker) => new Worker(worker));
    Queue.configure({ ...configuration, container: configuration.container ?? nestContainer(nest) });
    isPresent = true;
  }

  onApplicationBootstrap(): void {
    // Rejects only for what is wrong from the start, such as a connection that is not configured: that ends the process.
    for (const worker of this.#workers) void worker.run();
    // oxlint-disable-next-line no-restricted-globals -- about the process, not about jobs
    if (this.#workers.length > 0) this.#looking = setTimeout(warnWithoutHooks, HOOKS_WITHIN).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearTimeout(this.#looking);
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }

  // The server has closed only now: its last requests may have dispatched.
  async onApplicationShutdown(): Promise<void> {
    try {
      await Queue.close();
    } finally {
      isPresent = false;
    }
  }
}

common.Inject(core.ModuleRef)(QueueModule, undefined, 0);
common.Inject(OPTIONS)(QueueModule, undefined, 1);
common.Module({})(QueueModule);

function rootOf(
  application: Application,
  options: NonNullable<ModuleMetadata['providers']>[number],
  imports: ModuleMetadata['imports'] = [],
): DynamicModule {
  if (application === undefined)
    throw moduleMisused(
      'the application is undefined',
      'Give the class of its root module; two files may import each other',
    );
  return { module: QueueModule, imports: [application, ...imports], providers: [options] };
}

function checkOptions(options: QueueModuleOptions, where: string): void {
  const given: Readonly<Record<string, unknown>> = { ...options };
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    throw moduleMisused(`${where} has an option ${unknown}`, `There are ${KEYS.join(' and ')}`);
  if (typeof given['configuration'] !== 'object' || given['configuration'] === null)
    throw moduleMisused(
      `${where} has no configuration`,
      'Give what Queue.configure() takes: { configuration: { connections } }',
    );
  const { workers = [] } = given;
  if (!Array.isArray(workers))
    throw moduleMisused(`${where} has workers that are no list`, "Write workers: [{ queue: 'mail', concurrency: 10 }]");
}

/** Nothing would stop the workers at a signal: their jobs would end with the process, and come back as crashed. */
function warnWithoutHooks(): void {
  if (process.listenerCount('SIGTERM') > 0) return;
  new common.Logger('QueueModule').warn(
    'Workers run in this process, but nothing stops them at SIGTERM: running jobs are killed with it. Call app.enableShutdownHooks().',
  );
}
