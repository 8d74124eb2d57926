import { testSoaksOn } from './short-forms';

testSoaksOn('beanstalkd');
