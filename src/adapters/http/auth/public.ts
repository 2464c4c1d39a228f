import { Reflector } from '@nestjs/core';

/** Marks a controller whose routes need no API key. */
export const Public = Reflector.createDecorator<void, true>({ transform: () => true });
