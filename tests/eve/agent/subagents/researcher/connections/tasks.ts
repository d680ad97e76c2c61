export { default } from '../../../connections/tasks';
