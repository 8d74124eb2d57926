export { configuration as default } from './src/queues';
