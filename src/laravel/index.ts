/** The public surface of `onqueue/laravel`: jobs of classes that a Laravel application shares. */
export { LaravelJob, type LaravelJobOptions } from './laravel-job';
export { model, type ModelReference } from './laravel-job';
