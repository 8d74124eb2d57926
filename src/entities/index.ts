/** The public surface of `onqueue/entities`: adapters for `entities` of the configuration. None imports its library. */
export type { EntityAdapter, EntityClass, EntityReference } from '../index';
export { mikroOrm, type MikroOrm } from './loaders';
export { mongoose, type MongooseConnection } from './loaders';
export { reference, type RowLoader, rows } from './rows';
export { sequelize, type SequelizeLike } from './loaders';
export { typeorm, type TypeOrmSource } from './loaders';
