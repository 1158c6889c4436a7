//! The statements of the five transactions, prepared.

use postgres::{Error, Statement};

use super::connection::Connection;

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident: $text:literal;)*) => {
        /// Prepared statements of one connection.
        pub(super) struct Statements {
            $($(#[$doc])* pub(super) $name: Statement,)*
            /// Statements that take the quantity of a line from the stock, by district.
            pub(super) take_stock: Vec<Statement>,
        }

        impl Statements {
            /// Prepares all statements.
            pub(super) async fn prepare(
                connection: &Connection,
                districts: u8,
            ) -> Result<Self, Error> {
                let mut take_stock = Vec::new();
                for district in 1..=districts {
                    let text = format!(
                        "update stock set s_quantity = case when s_quantity >= $3 + 10 \
                         then s_quantity - $3 else s_quantity + 91 - $3 end, \
                         s_ytd = s_ytd + $3, s_order_cnt = s_order_cnt + 1, \
                         s_remote_cnt = s_remote_cnt + $4 where s_w_id = $1 and s_i_id = $2 \
                         returning s_quantity, s_dist_{district:02}, s_data"
                    );
                    take_stock.push(connection.prepare(&text).await?);
                }
                Ok(Self { $($name: connection.prepare($text).await?,)* take_stock })
            }
        }
    };
}

statements! {
    take_order_number: "update district set d_next_o_id = d_next_o_id + 1 \
        where d_w_id = $1 and d_id = $2 returning d_next_o_id - 1, d_tax";
    warehouse_tax: "select w_tax from warehouse where w_id = $1";
    customer_discount: "select c_discount, c_last, c_credit from customer \
        where c_w_id = $1 and c_d_id = $2 and c_id = $3";
    enter_order: "insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, \
        o_all_local) values ($1, $2, $3, $4, $5, $6, $7)";
    enter_new_order: "insert into new_order (no_w_id, no_d_id, no_o_id) values ($1, $2, $3)";
    item: "select i_price, i_name, i_data from item where i_id = $1";
    enter_line: "insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
        ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

    pay_warehouse: "update warehouse set w_ytd = w_ytd + $2 where w_id = $1 returning w_name";
    pay_district: "update district set d_ytd = d_ytd + $3 where d_w_id = $1 and d_id = $2 \
        returning d_name";
    customers_by_name: "select c_id from customer \
        where c_w_id = $1 and c_d_id = $2 and c_last = $3 order by c_first";
    pay_customer: "update customer set c_balance = c_balance - $4, \
        c_ytd_payment = c_ytd_payment + $4, c_payment_cnt = c_payment_cnt + 1, \
        c_data = case when c_credit = 'BC' then substr($5 || c_data, 1, 500) else c_data end \
        where c_w_id = $1 and c_d_id = $2 and c_id = $3 \
        returning c_balance, c_first, c_middle, c_last, c_credit, c_discount";
    enter_payment: "insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, \
        h_amount, h_data) values ($1, $2, $3, $4, $5, $6, $7, $8)";

    customer_balance: "select c_balance, c_first, c_middle, c_last from customer \
        where c_w_id = $1 and c_d_id = $2 and c_id = $3";
    newest_order: "select o_id, o_entry_d, o_carrier_id from orders \
        where o_w_id = $1 and o_d_id = $2 and o_c_id = $3 order by o_id desc limit 1";
    lines_of_order: "select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
        from order_line where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";

    oldest_open: "select no_o_id from new_order where no_w_id = $1 and no_d_id = $2 \
        order by no_o_id limit 1";
    close_order: "delete from new_order where no_w_id = $1 and no_d_id = $2 and no_o_id = $3 \
        returning no_o_id";
    assign_carrier: "update orders set o_carrier_id = $4 \
        where o_w_id = $1 and o_d_id = $2 and o_id = $3 returning o_c_id";
    deliver_lines: "update order_line set ol_delivery_d = $4 \
        where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";
    amount_of_order: "select sum(ol_amount) from order_line \
        where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";
    charge_customer: "update customer set c_balance = c_balance + $4, \
        c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = $1 and c_d_id = $2 and c_id = $3 \
        returning c_id";

    next_order: "select d_next_o_id from district where d_w_id = $1 and d_id = $2";
    running_short: "select count(distinct s_i_id) from order_line, stock \
        where ol_w_id = $1 and ol_d_id = $2 and ol_o_id >= $3 - 20 and ol_o_id < $3 \
        and s_w_id = $1 and s_i_id = ol_i_id and s_quantity < $4";
}
