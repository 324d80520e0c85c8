-- Every bid unchanged.
CREATE TABLE answers (
    auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING
) WITH (${SINK});

INSERT INTO answers
SELECT auction, bidder, price, `dateTime`, extra FROM bid;
