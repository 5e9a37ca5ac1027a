/** The last values of forms, kept in the browser. */

/** @typedef {Record<string, string>} Values by field name; a ticked box is `on`, an unticked one empty */

/** @param {string} form @returns {Values} */
export function recall(form) {
  try {
    const values = JSON.parse(localStorage.getItem(`form ${form}`) ?? '{}');
    return Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === 'string'));
  } catch {
    return {};
  }
}

/** @param {string} form @param {Values} values */
export function remember(form, values) {
  try {
    localStorage.setItem(`form ${form}`, JSON.stringify(values));
  } catch {
    // The browser keeps nothing for this page: the form begins with its defaults.
  }
}

/**
 * The values of a form's fields; hidden fields keep their previous values.
 *
 * @param {HTMLFormElement} form
 * @param {Values} before
 * @returns {Values}
 */
export function valuesOf(form, before) {
  const values = { ...before };
  for (const field of form.elements) {
    if (field instanceof HTMLInputElement && field.type === 'checkbox') values[field.name] = field.checked ? 'on' : '';
    else if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) values[field.name] = field.value;
  }
  return values;
}
