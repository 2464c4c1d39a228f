import { getMetadataStorage } from 'class-validator';

/** Whether a value, that of a field of this body, is as a rule asks for; of a condition, whether it asks for anything. */
type Rule<Body> = (value: unknown, body: Body) => boolean;

/** What class-validator knows of one rule. */
type Metadata = ReturnType<typeof rulesOf>[number];

/** The fields of a class that have a rule. */
export function fieldsOf(target: new () => object): string[] {
  return [...new Set(rulesOf(target).map(({ propertyName }) => propertyName))];
}

/**
 * Makes a function that tells whether a body keeps all the rules of its class, by the functions that class-validator itself calls. That takes ten
 * times as long to find no fault, a thirtieth of what a create costs. If there is a rule of a kind that is not known here it tells false, and
 * class-validator is to be asked.
 */
export function keepsRules<Body extends object>(target: new () => Body): (body: Body) => boolean {
  const fields = fieldsOf(target).map((name) => {
    const all = rulesOf(target).filter(({ propertyName }) => propertyName === name);
    const isCondition = ({ type }: Metadata) => type === 'conditionalValidation';
    return {
      name: name as keyof Body,
      conditions: all.filter(isCondition).map(({ constraints }): Rule<Body> => {
        const [isAsked] = constraints as [(body: Body, value: unknown) => boolean];
        return (value, body) => isAsked(body, value);
      }),
      rules: all.filter((rule) => !isCondition(rule)).flatMap((rule) => constraintsOf<Body>(rule, target.name)),
    };
  });
  return (body) =>
    fields.every(({ name, conditions, rules }) => {
      const value = body[name];
      return !conditions.every((asks) => asks(value, body)) || rules.every((isKept) => isKept(value, body));
    });
}

function rulesOf(target: new () => object) {
  return getMetadataStorage().getTargetValidationMetadatas(target, '', false, false);
}

function constraintsOf<Body extends object>(rule: Metadata, targetName: string): Rule<Body>[] {
  const { type, propertyName: property, constraints, constraintCls, each, validateIf } = rule;
  if (type !== 'customValidation' || each || validateIf) return [() => false];
  return getMetadataStorage()
    .getTargetValidatorConstraints(constraintCls)
    .map(
      ({ instance }): Rule<Body> =>
        // Not a promise, which is what a rule comes to that has to wait.
        (value, object) =>
          instance.validate(value, { value, object, constraints, property, targetName }) === true,
    );
}
