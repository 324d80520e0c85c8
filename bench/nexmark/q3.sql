-- Who sells in category 10 from OR, ID or CA.
CREATE TABLE answers (
    name STRING, city STRING, state STRING, id BIGINT
) WITH (${SINK});

INSERT INTO answers
SELECT P.name, P.city, P.state, A.id
FROM auction AS A INNER JOIN person AS P ON A.seller = P.id
WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA');
